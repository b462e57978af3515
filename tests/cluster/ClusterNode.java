import java.util.List;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.transport.Netty4Plugin;

/** One node of OpenSearch in this process, with settings from arguments of the form name=value. */
public final class ClusterNode extends Node {
  private ClusterNode(Environment environment) {
    super(environment, List.of(
        CommonAnalysisPlugin.class,
        PainlessPlugin.class,
        Netty4Plugin.class), true);
  }

  public static void main(String[] arguments) throws Exception {
    Settings.Builder settings = Settings.builder();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      settings.put(argument.substring(0, equals), argument.substring(equals + 1));
    }
    Environment environment = InternalSettingsPreparer.prepareEnvironment(
        settings.build(), java.util.Map.of(), null, () -> "node");
    new ClusterNode(environment).start();
    Thread.currentThread().join();
  }
}
